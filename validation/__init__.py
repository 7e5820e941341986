"""Published measurements that the project carries, and what is fitted on them. Not shipped in the wheel."""
