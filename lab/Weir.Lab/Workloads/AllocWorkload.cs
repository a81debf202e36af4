namespace Weir.Lab.Workloads;

/// <summary>Allocates an array, uses it a little, and keeps it for a short while, so that some live longer than the youngest generation.</summary>
internal sealed class AllocWorkload(int bytes) : ItemWorkload
{
    private const int Kept = 64;
    private readonly byte[]?[] _kept = new byte[]?[Kept];

    public override string Name => "alloc";

    public override Func<int, CancellationToken, ValueTask<int>> Call => field ??= Run;

    public override int Expect(int item) => (byte)item + (byte)(item >> 8);

    public override ValueTask<string?> DescribeAsync(CancellationToken cancellationToken) => new($"allocates {Numbers.Bytes(bytes)}");

    private ValueTask<int> Run(int item, CancellationToken cancellationToken)
    {
        byte[] array = new byte[bytes];
        array[0] = (byte)item;
        array[^1] = (byte)(item >> 8);
        _kept[item % Kept] = array;
        return new ValueTask<int>(array[0] + array[^1]);
    }
}
