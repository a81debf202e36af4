using System.Security.Cryptography;
using Weir.Lab.Workers;

namespace Weir.Cli.Workloads;

/// <summary>SHA-256 of a piece of memory, with the result checked.</summary>
internal sealed class HashWorkload(int bytes) : IWorkload
{
    private readonly byte[] _data = new byte[bytes];
    private byte[] _expected = [];

    public string Name => "hash";

    public ValueTask SetupAsync(WorkerRunSpec spec, CancellationToken cancellationToken)
    {
        new Random(spec.Seed).NextBytes(_data);
        _expected = SHA256.HashData(_data);
        return default;
    }

    public Operation CreateOperation(WorkerContext context)
    {
        byte[] hash = new byte[SHA256.HashSizeInBytes];
        return Operation.Of(() =>
        {
            SHA256.HashData(_data, hash);
            return hash.AsSpan().SequenceEqual(_expected) ? hash[0] : throw new InvalidDataException("A hash of the same bytes differs.");
        });
    }
}
