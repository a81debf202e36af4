using System.Diagnostics.CodeAnalysis;

namespace Weir.Cli.Commands.Hash;

/// <summary>Hashes one file at a time. Each worker has its own hasher, with one buffer for all its files.</summary>
/// <remarks>
/// If the buffer has the size that the platform's own call uses, that call is made, so that the measurement covers the code that people write.
/// </remarks>
[SuppressMessage("Security", "CA5351:Do Not Use Broken Cryptographic Algorithms", Justification = "It is work to measure, and protects nothing.")]
internal sealed class FileHasher : IDisposable
{
    /// <summary>The bytes that <see cref="MD5.HashData(Stream)"/> reads at once.</summary>
    public const int PlatformBuffer = 4096;

    private readonly HashOrder _order;
    private readonly IncrementalHash? _hash;
    private readonly Memory<byte> _buffer;
    private readonly IDisposable? _aligned;

    public FileHasher(HashOrder order)
    {
        _order = order;
        if (order.IsDirect)
        {
            AlignedBuffer aligned = new(order.Buffer);
            (_aligned, _buffer) = (aligned, aligned.Memory);
        }
        else if (order.Buffer != PlatformBuffer)
        {
            _buffer = new byte[order.Buffer];
        }

        _hash = _buffer.IsEmpty ? null : IncrementalHash.CreateHash(HashAlgorithmName.MD5);
    }

    /// <summary>Hashes a file, blocking.</summary>
    public byte[] Hash(string path)
    {
        if (_hash is null)
        {
            using FileStream stream = File.Open(path, FileMode.Open, FileAccess.Read, FileShare.None);
            return MD5.HashData(stream);
        }

        using SafeFileHandle handle = Open(path);
        long offset = 0;
        int read;
        while ((read = RandomAccess.Read(handle, _buffer.Span, offset)) > 0)
        {
            _hash.AppendData(_buffer.Span[..read]);
            offset += read;

            // Only the last read is short; one after it would start at an odd offset.
            if (_order.IsDirect && read < _buffer.Length)
            {
                break;
            }
        }

        return _hash.GetHashAndReset();
    }

    /// <summary>Hashes a file without blocking the caller.</summary>
    public async Task<byte[]> HashAsync(string path, CancellationToken stop)
    {
        if (_hash is null)
        {
            await using FileStream stream = File.Open(path, FileMode.Open, FileAccess.Read, FileShare.None);
            return await MD5.HashDataAsync(stream, stop);
        }

        using SafeFileHandle handle = Open(path);
        long offset = 0;
        int read;
        while ((read = await RandomAccess.ReadAsync(handle, _buffer, offset, stop)) > 0)
        {
            _hash.AppendData(_buffer.Span[..read]);
            offset += read;
            if (_order.IsDirect && read < _buffer.Length)
            {
                break;
            }
        }

        return _hash.GetHashAndReset();
    }

    public void Dispose()
    {
        _hash?.Dispose();
        _aligned?.Dispose();
    }

    private SafeFileHandle Open(string path) => _order.IsDirect
        ? PageCache.OpenDirect(path)
        : File.OpenHandle(path, FileMode.Open, FileAccess.Read, FileShare.None);
}
