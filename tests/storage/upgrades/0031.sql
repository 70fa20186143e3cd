select count(*) from api_keys where tenant_id = 'ten_1' and created_ms >= 0;
