"""``python -m keyplayers``, and the program ``keyplayers``."""

import sys


def main() -> None:
    """Run the command line; Ctrl-C while it loads is no error either."""
    try:
        from .cli import main as run
    except KeyboardInterrupt:
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
