insert into invoice_numbers values ('live invoice', 1);
insert into invoices (number, series, sequence, kind, booking_id, payment_id, tenant_id, amount_cents, currency, mode, issued_ms,
    seller_name, seller_address, seller_tax_id, buyer_name, buyer_website, buyer_email, slot_name, week_start_ms, weeks)
values ('INV-000001', 'live invoice', 1, 'invoice', 'bok_1', 'pay_1', 'ten_1', 5000, 'usd', 'live', 1763000000020, 'Seller',
    'Street 1', 'XX 1', 'Brand', 'https://brand.example.com/', 'ann@example.com', 'Left', 1763337600000, 1);
