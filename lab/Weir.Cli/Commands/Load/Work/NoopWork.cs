namespace Weir.Cli.Commands.Load.Work;

/// <summary>Gives the item back.</summary>
internal sealed class NoopWork : LoadWork
{
    public override Func<int, CancellationToken, ValueTask<int>> Processor { get; } = static (item, _) => new ValueTask<int>(item);

    public override string Description => "gives the item back";

    public override int Expect(int item) => item;
}
