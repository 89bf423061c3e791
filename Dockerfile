# The server on a CPU, with the released weights and the collection of Atlas:
#
#   docker build --tag bgr .
#   docker run --rm --publish 8756:8756 --env BGR_TOKEN=secret bgr
#
# It needs no network once it is built. `docker run --rm bgr bgr ask "…"` runs any other command.
FROM python:3.11-slim-bookworm AS build
WORKDIR /source
COPY . .
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.11-slim-bookworm
# the CPU build of PyTorch; the one for GPUs takes gigabytes
ENV PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu
RUN --mount=type=bind,from=build,source=/wheels,target=/wheels \
    --mount=type=bind,source=constraints.txt,target=/constraints.txt \
    pip install --no-cache-dir --constraint /constraints.txt "$(echo /wheels/bgr-*.whl)[serve,offline]" \
    && useradd --create-home --uid 1000 bgr
USER 1000
WORKDIR /home/bgr
ENV PYTHONUNBUFFERED=1
# shows that the image works, and makes the collection ready
RUN bgr ask "Which film by the director of Alien came out in 1982?"
EXPOSE 8756
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8756/v1/health', timeout=4)"]
# without BGR_TOKEN it ends with one line, unless --open is given
CMD ["bgr", "serve", "--host", "0.0.0.0"]
