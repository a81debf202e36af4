using System.Globalization;
using System.Security.Cryptography;
using System.Text;

namespace Weir.Http;

/// <summary>
/// The unfinished file, and beside it a description of what it is a part of, so that a later program can continue. The caller makes sure that only one
/// download uses them at a time.
/// </summary>
internal sealed class PartFile : IDisposable
{
    private const string Version = "weir-part 1";

    private readonly string _path;
    private readonly string _address;
    private readonly FileStream _stream;

    public PartFile(string path, Uri address)
    {
        _path = path;

        // Addresses may contain secret keys, which must not be written to a file.
        _address = Convert.ToHexStringLower(SHA256.HashData(Encoding.UTF8.GetBytes(address.OriginalString)));
        _stream = new FileStream(DataPath, FileMode.OpenOrCreate, FileAccess.Write, FileShare.None, bufferSize: 0, FileOptions.Asynchronous);
        try
        {
            ReadDescription();
        }
        catch
        {
            _stream.Dispose();
            throw;
        }
    }

    /// <summary>How many bytes it has.</summary>
    public long Length { get; private set; }

    /// <summary>What says that the server's file is still the same: a strong entity tag or a date. Without one, nothing can be resumed.</summary>
    public string? Validator { get; private set; }

    /// <summary>The length of the whole, if known.</summary>
    public long? Total { get; private set; }

    /// <summary>Whether a request can ask for the rest.</summary>
    public bool CanContinue => Validator is not null && Total is not null;

    private string DataPath => _path + ".part";

    private string DescriptionPath => _path + ".part.txt";

    /// <summary>Discards the bytes. Those that follow are of another file, or begin at its start.</summary>
    public void Restart(string? validator = null, long? total = null)
    {
        // The old description must not stand beside new bytes, whenever the program ends.
        File.Delete(DescriptionPath);
        _stream.SetLength(0);
        _stream.Position = 0;
        Length = 0;
        Validator = validator;
        Total = total;
        if (CanContinue)
        {
            File.WriteAllLines(DescriptionPath, [Version, _address, validator!, total!.Value.ToString(CultureInfo.InvariantCulture)]);
        }
    }

    public async ValueTask AddAsync(ReadOnlyMemory<byte> bytes, CancellationToken cancellationToken)
    {
        try
        {
            await _stream.WriteAsync(bytes, cancellationToken).ConfigureAwait(false);
            Length += bytes.Length;
        }
        catch
        {
            // Some of the bytes may have been written.
            _stream.SetLength(Length);
            _stream.Position = Length;
            throw;
        }
    }

    /// <summary>Gives the file its own name. What had that name before is replaced; or it stays, and the part with it, if it must not be.</summary>
    public void Finish(bool overwrite)
    {
        _stream.Flush(flushToDisk: true);
        _stream.Dispose();
        File.Move(DataPath, _path, overwrite);
        File.Delete(DescriptionPath);
    }

    /// <summary>Closes the file. What cannot be resumed is deleted.</summary>
    public void Dispose()
    {
        if (!_stream.CanWrite)
        {
            return;
        }

        _stream.Dispose();
        if (Length == 0 || !CanContinue)
        {
            File.Delete(DataPath);
            File.Delete(DescriptionPath);
        }
    }

    private void ReadDescription()
    {
        if (_stream.Length > 0
            && File.Exists(DescriptionPath)
            && File.ReadAllLines(DescriptionPath) is [Version, { } address, { Length: > 0 } validator, { } total]
            && address == _address
            && long.TryParse(total, NumberStyles.None, CultureInfo.InvariantCulture, out long length)
            && _stream.Length <= length)
        {
            Length = _stream.Length;
            _stream.Position = Length;
            Validator = validator;
            Total = length;
            return;
        }

        Restart();
    }
}
