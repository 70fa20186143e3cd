update identity set billing_mode = 'test';
