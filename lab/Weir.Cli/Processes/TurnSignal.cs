namespace Weir.Cli.Processes;

/// <summary>Where a measuring process that takes turns waits until it is told that it is its turn.</summary>
internal sealed class TurnSignal : IDisposable
{
    /// <summary>What it is told when it is to make a round.</summary>
    public const string Go = "go";

    /// <summary>What it is told when there are enough rounds.</summary>
    public const string Enough = "enough";

    private readonly SemaphoreSlim _words = new(0);
    private volatile bool _isOver;

    /// <summary>Takes a word of whoever leads.</summary>
    /// <returns>Whether it is one of the two.</returns>
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
    /// <returns>Whether to make a round; not when there are enough, or when it is to stop.</returns>
    public async ValueTask<bool> WaitAsync(CancellationToken stop)
    {
        try
        {
            await _words.WaitAsync(stop).ConfigureAwait(false);
            return !_isOver;
        }
        catch (OperationCanceledException)
        {
            return false;
        }
    }

    public void Dispose() => _words.Dispose();
}
