update bookings set video_material = 'Logo and a recording: https://example.com/press' where id = 'bok_1';
