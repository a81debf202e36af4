namespace Weir.Cli.Processes;

/// <summary>Makes a measuring process wait for its turn.</summary>
internal sealed class TurnSignal : IDisposable
{
    /// <summary>The line that tells it to make a round.</summary>
    public const string Go = "go";

    /// <summary>The line that tells it that there are enough rounds.</summary>
    public const string Enough = "enough";

    private readonly SemaphoreSlim _words = new(0);
    private volatile bool _isOver;

    /// <summary>Takes a line from the parent.</summary>
    /// <returns>Whether the line is one of the two.</returns>
    public bool TryReceive(string? word)
    {
        if (word is not (Go or Enough))
        {
            return false;
        }

        _isOver |= word == Enough;
        _words.Release();
        return true;
    }

    /// <summary>Waits for the turn.</summary>
    /// <returns>Whether to make a round: <see langword="false"/> if there are enough or the process has to stop.</returns>
    public async ValueTask<bool> WaitAsync(CancellationToken stop)
    {
        try
        {
            await _words.WaitAsync(stop);
            return !_isOver;
        }
        catch (OperationCanceledException)
        {
            return false;
        }
    }

    public void Dispose() => _words.Dispose();
}
