"""Operations of the API, framework-free: the operation table, dispatch, authentication, limits and validation."""
