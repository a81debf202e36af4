namespace Weir;

/// <summary>Counts how much of a stream has been read, for the progress of a run whose number of items nobody knows, such as the lines of a file.</summary>
/// <remarks>
/// <code>
/// ProgressStream bytes = Progress.OfBytes(File.OpenRead(path));
/// using StreamReader reader = new(bytes);
/// … new ParallelRunOptions { Progress = new ProgressOptions { Bytes = bytes, OnProgress = … } }
/// </code>
/// </remarks>
public static class Progress
{
    /// <summary>Wraps a stream, so that what is read from it is counted.</summary>
    /// <param name="stream">The stream to read. It is disposed of together with the wrapper.</param>
    /// <param name="length">How many bytes will be read; <see langword="null"/> for the rest of the stream, if it can tell.</param>
    /// <returns>The stream to read from instead.</returns>
    /// <exception cref="ArgumentNullException"><paramref name="stream"/> is <see langword="null"/>.</exception>
    /// <exception cref="ArgumentException"><paramref name="stream"/> cannot be read.</exception>
    /// <exception cref="ArgumentOutOfRangeException"><paramref name="length"/> is negative.</exception>
    public static ProgressStream OfBytes(Stream stream, long? length = null)
    {
        ArgumentNullException.ThrowIfNull(stream);
        if (!stream.CanRead)
        {
            throw new ArgumentException("The stream must be one that can be read.", nameof(stream));
        }

        return length is < 0
            ? throw new ArgumentOutOfRangeException(nameof(length), length, "The length must be 0 or more, or null for the rest of the stream.")
            : new ProgressStream(stream, length ?? (stream.CanSeek ? Math.Max(0, stream.Length - stream.Position) : null));
    }
}

/// <summary>A stream that counts what is read from it: see <see cref="Progress.OfBytes"/>. It is read forwards only.</summary>
/// <remarks>Not thread-safe, but for <see cref="BytesRead"/>: one thread reads at a time, as from any stream.</remarks>
public sealed class ProgressStream : Stream
{
    private readonly Stream _inner;
    private long _read;

    internal ProgressStream(Stream inner, long? total)
    {
        _inner = inner;
        TotalBytes = total;
    }

    /// <summary>How many bytes have been read. Any thread may ask while another reads.</summary>
    public long BytesRead => Volatile.Read(ref _read);

    /// <summary>How many bytes there are to read; <see langword="null"/> if that is not known.</summary>
    public long? TotalBytes { get; }

    /// <inheritdoc/>
    public override bool CanRead => true;

    /// <inheritdoc/>
    public override bool CanSeek => false;

    /// <inheritdoc/>
    public override bool CanWrite => false;

    /// <inheritdoc/>
    public override long Length => _inner.Length;

    /// <inheritdoc/>
    public override long Position
    {
        get => _inner.Position;
        set => throw new NotSupportedException("A stream whose bytes are counted is read forwards only.");
    }

    /// <inheritdoc/>
    public override int Read(byte[] buffer, int offset, int count) => Counted(_inner.Read(buffer, offset, count));

    /// <inheritdoc/>
    public override int Read(Span<byte> buffer) => Counted(_inner.Read(buffer));

    /// <inheritdoc/>
    public override async Task<int> ReadAsync(byte[] buffer, int offset, int count, CancellationToken cancellationToken) =>
        Counted(await _inner.ReadAsync(buffer.AsMemory(offset, count), cancellationToken).ConfigureAwait(false));

    /// <inheritdoc/>
    public override async ValueTask<int> ReadAsync(Memory<byte> buffer, CancellationToken cancellationToken = default) =>
        Counted(await _inner.ReadAsync(buffer, cancellationToken).ConfigureAwait(false));

    /// <inheritdoc/>
    public override void Flush()
    {
    }

    /// <inheritdoc/>
    public override long Seek(long offset, SeekOrigin origin) => throw new NotSupportedException("A stream whose bytes are counted is read forwards only.");

    /// <inheritdoc/>
    public override void SetLength(long value) => throw new NotSupportedException("A stream whose bytes are counted is not written.");

    /// <inheritdoc/>
    public override void Write(byte[] buffer, int offset, int count) => throw new NotSupportedException("A stream whose bytes are counted is not written.");

    /// <inheritdoc/>
    public override async ValueTask DisposeAsync()
    {
        await _inner.DisposeAsync().ConfigureAwait(false);
        await base.DisposeAsync().ConfigureAwait(false);
    }

    /// <inheritdoc/>
    protected override void Dispose(bool disposing)
    {
        if (disposing)
        {
            _inner.Dispose();
        }

        base.Dispose(disposing);
    }

    private int Counted(int read)
    {
        Volatile.Write(ref _read, _read + read);
        return read;
    }
}
