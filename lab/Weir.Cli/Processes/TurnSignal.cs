namespace Weir.Cli.Processes;

/// <summary>Makes a measuring process wait for its turn.</summary>
internal sealed class TurnSignal : IDisposable
{
    /// <summary>The line that tells it to make a round.</summary>
    public const string Go = "go";

    /// <summary>The line that tells it that there are enough rounds.</summary>
    public const string Enough = "enough";

    private const string BatchWord = "batch ";

    private readonly SemaphoreSlim _words = new(0);
    private volatile bool _isOver;
    private volatile int _batch;

    /// <summary>How many operations are to go between two looks at the clock; <see langword="null"/> for as many as the process found itself.</summary>
    public int? Batch => _batch > 0 ? _batch : null;

    /// <summary>The line that tells it how many operations are to go between two looks at the clock. It comes before the first turn.</summary>
    public static string OfBatch(int batch) => string.Create(CultureInfo.InvariantCulture, $"{BatchWord}{batch}");

    /// <summary>Takes a line from the parent.</summary>
    /// <returns>Whether the line is one of these.</returns>
    public bool TryReceive(string? word)
    {
        if (word?.StartsWith(BatchWord, StringComparison.Ordinal) == true)
        {
            _batch = int.Parse(word.AsSpan(BatchWord.Length), CultureInfo.InvariantCulture);
            return true;
        }

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
