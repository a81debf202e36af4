namespace Weir.Lab.Workloads;

/// <summary>SHA-256 of a piece of memory, with the result checked.</summary>
internal sealed class HashWorkload(int bytes) : ItemWorkload
{
    private readonly byte[] _data = new byte[bytes];
    private byte[] _expected = [];

    public override string Name => "hash";

    public override Func<int, CancellationToken, ValueTask<int>> Call => field ??= (item, _) =>
    {
        Span<byte> hash = stackalloc byte[SHA256.HashSizeInBytes];
        Verified(hash);
        return new ValueTask<int>(item);
    };

    public override ValueTask SetupAsync(WorkerRunSpec spec, CancellationToken cancellationToken)
    {
        new Random(spec.Seed).NextBytes(_data);
        _expected = SHA256.HashData(_data);
        return default;
    }

    public override Operation CreateOperation(WorkerContext context)
    {
        byte[] hash = new byte[SHA256.HashSizeInBytes];
        return Operation.Of(() => Verified(hash));
    }

    private byte Verified(Span<byte> hash)
    {
        SHA256.HashData(_data, hash);
        return hash.SequenceEqual(_expected) ? hash[0] : throw new InvalidDataException("A hash of the same bytes differs.");
    }
}
