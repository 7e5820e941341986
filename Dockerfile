# Stage 1 builds the wheel: service, catalogues, migrations and measurements in one file.
FROM python:3.12-slim AS build

ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /build
COPY requirements-build.txt ./
RUN pip install --require-hashes -r requirements-build.txt
COPY pyproject.toml README.md LICENSE NOTICE ./
COPY service ./service
COPY hardware_catalog ./hardware_catalog
COPY model_catalog ./model_catalog
COPY migrations ./migrations
COPY validation ./validation
RUN pip wheel --no-deps --no-build-isolation --wheel-dir /wheels .

# Stage 2 is what runs: locked dependencies, the wheel, no source and no compiler.
FROM python:3.12-slim

LABEL org.opencontainers.image.title="Stepcast" \
      org.opencontainers.image.description="Capacity planning for AI clusters, as a REST service" \
      org.opencontainers.image.licenses="Apache-2.0"

ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
COPY requirements.txt /tmp/requirements.txt
RUN pip install --require-hashes -r /tmp/requirements.txt && rm /tmp/requirements.txt
COPY --from=build /wheels /tmp/wheels
RUN pip install --no-deps --no-index /tmp/wheels/*.whl && rm -r /tmp/wheels \
    && install -d -o 10001 -g 10001 -m 0750 /var/lib/stepcast

# All addresses: a container is reached from outside. So it starts only with a token (STEPCAST_API_TOKENS, or one made by
# `stepcast token create`) or with STEPCAST_ALLOW_OPEN=1. With a read-only root, give it a writable /tmp.
ENV STEPCAST_HOST=0.0.0.0 \
    STEPCAST_PORT=8000 \
    STEPCAST_DATABASE_URL=sqlite:////var/lib/stepcast/stepcast.db

# A number, so that runAsNonRoot can be checked before the start.
USER 10001:10001
WORKDIR /var/lib/stepcast
VOLUME /var/lib/stepcast
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=3 \
    CMD ["python", "-c", "import os, urllib.request as u; u.urlopen('http://127.0.0.1:' + os.environ['STEPCAST_PORT'] + '/healthz', timeout=4)"]
CMD ["stepcast", "serve"]
