namespace Weir.Delivery.Tests.Gauges;

/// <summary>Answers readings as a test says, and knows how many there were and how many ran at once.</summary>
internal sealed class ScriptedStatistics(string name, Func<int, CancellationToken, ValueTask<WorkStatistics>> answer) : IWorkStatistics
{
    private int _readings;
    private int _running;
    private int _most;

    public string Name => name;

    public int Readings => Volatile.Read(ref _readings);

    public int MostAtOnce => Volatile.Read(ref _most);

    public async ValueTask<WorkStatistics> GetStatisticsAsync(CancellationToken cancellationToken = default)
    {
        _most = Math.Max(_most, Interlocked.Increment(ref _running));
        try
        {
            return await answer(Interlocked.Increment(ref _readings), cancellationToken);
        }
        finally
        {
            Interlocked.Decrement(ref _running);
        }
    }
}
