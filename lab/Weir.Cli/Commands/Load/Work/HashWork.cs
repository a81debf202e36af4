using System.Buffers.Binary;
using System.Security.Cryptography;
using Weir.Lab.Formatting;

namespace Weir.Cli.Commands.Load.Work;

/// <summary>Computes the SHA-256 of a line; the result is its first 31 bits. When there are more items than lines, the lines are taken again from the first.</summary>
internal sealed class HashWork : LoadWork
{
    private readonly LineFile _lines;
    private readonly int[] _expected;

    public HashWork(LineFile lines)
    {
        _lines = lines;
        _expected = new int[lines.Count];
        for (int i = 0; i < _expected.Length; i++)
        {
            _expected[i] = Hash(i);
        }

        Processor = (item, _) => new ValueTask<int>(Hash(item));
    }

    public override Func<int, CancellationToken, ValueTask<int>> Processor { get; }

    public override string Description =>
        $"computes the SHA-256 of a line ({Numbers.Grouped(_lines.Count)} lines, {Numbers.Bytes((double)_lines.Bytes / _lines.Count)} each on average)";

    public override int Expect(int item) => _expected[item % _expected.Length];

    private int Hash(int item)
    {
        Span<byte> hash = stackalloc byte[SHA256.HashSizeInBytes];
        SHA256.HashData(_lines[item % _expected.Length], hash);
        return BinaryPrimitives.ReadInt32BigEndian(hash) & int.MaxValue;
    }
}
