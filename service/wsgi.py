"""What a WSGI server imports when it is not started by `stepcast serve`: `service.wsgi:app`.

The caller's server binds: with no token the service answers callers on this machine only, whatever the address.
"""

from service.app import create_app
from service.settings import Settings

app = create_app(Settings.from_environ())
