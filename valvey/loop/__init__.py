"""The shell of ``valvey loop``: configuration, the CDU's wire, the broker, and the one loop between them."""
