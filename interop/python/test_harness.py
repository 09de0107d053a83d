"""pytest-redis starts the server that --redis-exec names, as it would start redis-server."""


def test_data_is_there(redisdb):
    redisdb.set("lock:a", "c1", nx=True, px=30000)
    assert redisdb.get("lock:a") == b"c1"


def test_each_test_begins_empty(redisdb):
    assert redisdb.set("lock:a", "c2", nx=True, px=30000)
