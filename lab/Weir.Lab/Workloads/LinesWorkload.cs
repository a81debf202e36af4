using System.Buffers.Binary;

namespace Weir.Lab.Workloads;

/// <summary>
/// The SHA-256 of a line of a user's file; the result is its first 31 bits. When there are more items than lines, the lines are taken again from the first.
/// </summary>
internal sealed class LinesWorkload(int count, int bytes, Func<int, ReadOnlyMemory<byte>> line) : ItemWorkload
{
    private readonly int[] _expected = [.. Enumerable.Range(0, count).Select(i => Hash(line(i).Span))];

    public override string Name => "hash";

    public override Func<int, CancellationToken, ValueTask<int>> Call { get; } = (item, _) => new ValueTask<int>(Hash(line(item % count).Span));

    public override int Expect(int item) => _expected[item % count];

    public override ValueTask<string?> DescribeAsync(CancellationToken cancellationToken) =>
        new($"computes the SHA-256 of a line ({Numbers.Grouped(count)} lines, {Numbers.Bytes((double)bytes / count)} each on average)");

    private static int Hash(ReadOnlySpan<byte> line)
    {
        Span<byte> hash = stackalloc byte[SHA256.HashSizeInBytes];
        SHA256.HashData(line, hash);
        return BinaryPrimitives.ReadInt32BigEndian(hash) & int.MaxValue;
    }
}
