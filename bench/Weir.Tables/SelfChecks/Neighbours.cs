namespace Weir.Tables.SelfChecks;

/// <summary>Threads that compute until the end, so that processes that are measured beside them share the processors.</summary>
internal sealed class Neighbours : IDisposable
{
    /// <summary>As many as most checks have.</summary>
    public const int Usual = 4;

    private readonly CancellationTokenSource _over = new();
    private readonly Thread[] _threads;

    /// <summary>Starts them.</summary>
    /// <param name="count">How many.</param>
    public Neighbours(int count)
    {
        _threads = [.. Enumerable.Range(0, count).Select(_ => new Thread(() => Spin(_over.Token)) { IsBackground = true, Name = "neighbour" })];
        Array.ForEach(_threads, static t => t.Start());
    }

    /// <summary>Ends them.</summary>
    public void Dispose()
    {
        _over.Cancel();
        Array.ForEach(_threads, static t => t.Join());
        _over.Dispose();
    }

    private static void Spin(CancellationToken over)
    {
        CalibratedSpin work = new(100_000);
        while (!over.IsCancellationRequested)
        {
            Sink.Consume(work.Run(1));
        }
    }
}
