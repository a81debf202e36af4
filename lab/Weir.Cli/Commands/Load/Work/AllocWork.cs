using Weir.Lab.Formatting;

namespace Weir.Cli.Commands.Load.Work;

/// <summary>Allocates an array, uses it a little, and keeps it for a short while, so that some live longer than the youngest generation.</summary>
internal sealed class AllocWork : LoadWork
{
    private const int Kept = 64;
    private readonly byte[]?[] _kept = new byte[]?[Kept];
    private readonly int _bytes;

    public AllocWork(int bytes)
    {
        _bytes = bytes;
        Processor = Run;
    }

    public override Func<int, CancellationToken, ValueTask<int>> Processor { get; }

    public override string Description => $"allocates {Numbers.Bytes(_bytes)}";

    public override int Expect(int item) => (byte)item + (byte)(item >> 8);

    private ValueTask<int> Run(int item, CancellationToken cancellationToken)
    {
        byte[] bytes = new byte[_bytes];
        bytes[0] = (byte)item;
        bytes[^1] = (byte)(item >> 8);
        _kept[item % Kept] = bytes;
        return new ValueTask<int>(bytes[0] + bytes[^1]);
    }
}
