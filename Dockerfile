# The image of the service: the program in its own Python environment on Debian, without build tools.
# docs/deployment.md says how to run it. `make image-steps` runs these steps without Docker.
#
# A tag gets Debian's security updates at each build. For reproducible builds, pass the digest of the base:
#     docker build --build-arg BASE=debian@sha256:... .
ARG BASE=debian:13.8-slim

FROM ${BASE} AS build
RUN apt-get update \
    && apt-get install --yes --no-install-recommends python3-venv \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY requirements/build.lock requirements/run.lock requirements/
RUN python3 -m venv /tools \
    && /tools/bin/pip install --no-cache-dir --no-deps --require-hashes --requirement requirements/build.lock
RUN python3 -m venv --without-pip /opt/catalog-service \
    && /tools/bin/pip --python /opt/catalog-service/bin/python install \
        --no-cache-dir --no-deps --no-compile --require-hashes --requirement requirements/run.lock
COPY pyproject.toml config.toml README.md LICENSE ./
COPY actors/ actors/
COPY service/ service/
COPY storage/ storage/
# The wheel depends only on its sources, so the same commit gives the same wheel.
ARG SOURCE_DATE_EPOCH=0
RUN /tools/bin/pip wheel --no-cache-dir --no-deps --no-index --no-build-isolation --wheel-dir /wheels . \
    && /tools/bin/pip --python /opt/catalog-service/bin/python install \
        --no-cache-dir --no-deps --no-compile --no-index /wheels/*.whl \
    && /opt/catalog-service/bin/python -m compileall -q --invalidation-mode unchecked-hash /opt/catalog-service/lib

FROM ${BASE}
RUN apt-get update \
    && apt-get install --yes --no-install-recommends python3 \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin /var/log/apt /var/log/dpkg.log \
    && groupadd --gid 10001 catalog \
    && useradd --uid 10001 --gid catalog --home-dir /data --no-create-home --shell /usr/sbin/nologin catalog \
    && install --directory --owner=catalog --group=catalog --mode=0700 /data
COPY --from=build /opt/catalog-service /opt/catalog-service
ENV PATH=/opt/catalog-service/bin:/usr/local/bin:/usr/bin:/bin \
    PYTHONDONTWRITEBYTECODE=1 \
    CATALOG__SERVER__BIND=0.0.0.0:8080
# /data holds the embedded Postgres and the server's secret. With database.url and server.secret, it stays empty.
VOLUME /data
# A command without --data-dir uses "data" in this folder.
WORKDIR /
USER 10001:10001
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=120s --retries=3 \
    CMD ["/opt/catalog-service/bin/python", "-I", "-c", "import http.client as h; c = h.HTTPConnection('127.0.0.1', 8080, timeout=4); c.request('GET', '/healthz'); raise SystemExit(c.getresponse().status != 200)"]
ENTRYPOINT ["catalog-service"]
CMD ["serve", "--data-dir", "/data"]
ARG VERSION=
ARG REVISION=
LABEL org.opencontainers.image.title="Catalog and Sponsorship Service" \
    org.opencontainers.image.description="An API and website for a catalog of use cases and bot templates, and for sponsorship slots" \
    org.opencontainers.image.licenses="MIT" \
    org.opencontainers.image.version="${VERSION}" \
    org.opencontainers.image.revision="${REVISION}"
