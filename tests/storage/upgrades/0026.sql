update api_keys set successor_id = 'key_2', origin_id = 'key_0', generation = 2, end_notice_ms = 1763000000001
where id = (select min(id) from api_keys);
