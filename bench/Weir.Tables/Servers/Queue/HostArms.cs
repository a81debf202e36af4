namespace Weir.Tables.Servers.Queue;

/// <summary>The whole way of items as users meet it: enqueued in batches with the default options, and handled by a host with its default options.</summary>
internal sealed class HostArms(FigureDatabase database) : IAsyncDisposable
{
    public const int Batch = 256;
    private const int Batches = 100;
    private const string Enqueue = "enqueue 256 items at once";
    private const string Handle = "handle them";

    private readonly ExpertQueue _expert = new(database.Source);
    private readonly PostgresWorkQueue<string> _own = new(database.Source, "whole", WorkSerializer.Text);
    private long _sum;

    public async Task SetupAsync(CancellationToken stop)
    {
        await database.ExecuteAsync(ExpertQueue.Table, stop);
        await _own.SetupAsync(stop);
    }

    public async Task<IReadOnlyList<Pass>> BareAsync(CancellationToken stop)
    {
        _sum = 0;
        long started = Stopwatch.GetTimestamp();
        await _expert.EnqueueAsync(Values(), stop);
        Pass enqueued = new(Enqueue, Batches * Batch, Stopwatch.GetElapsedTime(started), Batches);
        started = Stopwatch.GetTimestamp();
        await _expert.HandleAsync(Batches * Batch, Batch, Add, stop);
        return [enqueued, new Pass(Handle, Batches * Batch, Stopwatch.GetElapsedTime(started), _sum)];
    }

    public async Task<IReadOnlyList<Pass>> OwnAsync(CancellationToken stop)
    {
        _sum = 0;
        long started = Stopwatch.GetTimestamp();
        foreach (string[] values in Values())
        {
            await _own.EnqueueAsync(WorkItem.CreateMany(values), cancellationToken: stop);
        }

        Pass enqueued = new(Enqueue, Batches * Batch, Stopwatch.GetElapsedTime(started), Batches);
        WorkHostOptions<string> options = new() { DeadLetters = _own.DeadLetters, Serializer = WorkSerializer.Text };
        TimeSpan time = await HostPass.RunAsync(await _own.OpenSourceAsync(stop), options, Batches * Batch, Add, stop);
        return [enqueued, new Pass(Handle, Batches * Batch, time, _sum)];
    }

    public ValueTask DisposeAsync() => _own.DisposeAsync();

    private static IEnumerable<string[]> Values() => Enumerable.Range(0, Batches).Select(static batch =>
        Enumerable.Range(batch * Batch, Batch).Select(static i => i.ToString("D100", CultureInfo.InvariantCulture)).ToArray());

    private void Add(string value) => Interlocked.Add(ref _sum, value.Length);
}
