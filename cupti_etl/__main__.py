"""``python -m cupti_etl`` is ``cupti-etl``."""

from cupti_etl.cli import main

main()
