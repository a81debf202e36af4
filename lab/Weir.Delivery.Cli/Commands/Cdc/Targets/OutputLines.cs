namespace Weir.Delivery.Cli.Commands.Cdc.Targets;

/// <summary>Prints lines. They are done when the output has taken them.</summary>
internal sealed class OutputLines(ILineOutput output) : IWorkSink<ChangeLine>
{
    // Whoever reads the output may stop reading without closing it, and nothing ends such a write: it is left behind when the time is up.
    public async ValueTask WriteAsync(IReadOnlyList<WorkItem<ChangeLine>> items, string? position, CancellationToken cancellationToken) =>
        await Task.Run(() => Write(items), CancellationToken.None).WaitAsync(cancellationToken);

    public ValueTask DisposeAsync() => default;

    private void Write(IReadOnlyList<WorkItem<ChangeLine>> items)
    {
        try
        {
            output.Write(items.Select(static item => item.Value.Json));
        }
        catch (OutputException e)
        {
            throw new WorkSetupException($"{e.Message} What it has not taken comes again.", e);
        }
    }
}
