namespace Weir.Delivery.Cli.Commands.Cdc;

/// <summary>Says of each change that cannot be read what became of it, and of one that ends the stream which command goes on behind it.</summary>
internal sealed class FailedChanges(PostgresChangeErrorMode mode, string behind, WorkCliHost host)
{
    private volatile string? _stoppedBy;

    /// <summary>Hears of a change that cannot be read.</summary>
    public void Add(DeadLetter letter)
    {
        string line = letter.Error.Split('\n')[0];
        if (mode == PostgresChangeErrorMode.Stop)
        {
            _stoppedBy = line;
            return;
        }

        host.Say(Credentials.Hide($"{line} It is {(mode == PostgresChangeErrorMode.Skip ? "skipped" : "a dead letter")}."));
    }

    /// <summary>Runs the stream.</summary>
    /// <exception cref="WorkSetupException">A change has ended it.</exception>
    public async Task<int> ExplainAsync(Func<Task<int>> run)
    {
        try
        {
            return await run();
        }
        catch (WorkSetupException e) when (_stoppedBy is { } line)
        {
            throw new WorkSetupException($"{line} The stream stops before it, and nothing is lost. To keep it as a dead letter and go on: {behind}", e);
        }
    }
}
