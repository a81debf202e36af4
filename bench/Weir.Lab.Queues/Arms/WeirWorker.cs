using Weir.Delivery;
using Weir.Runtimes;

namespace Weir.Lab.Queues.Arms;

/// <summary>A worker of Weir on either server: a <see cref="WorkHost{T}"/> on a runtime.</summary>
internal sealed class WeirWorker : IAsyncDisposable
{
    private readonly IWorkSource<QueueItem> _source;
    private readonly ConcurrentRuntime _runtime;
    private readonly CancellationTokenSource _stop = new();
    private readonly Task _running;

    private WeirWorker(IWorkSource<QueueItem> source, IWorkQueue<QueueItem> queue, int consumers, Func<QueueItem, Task> handle)
    {
        _source = source;
        _runtime = new(consumers, new RuntimeOptions { TotalConcurrency = consumers });
        WorkHost<QueueItem> host = new(
            source,
            _runtime,
            (item, _) => new ValueTask(handle(item.Value)),
            new WorkHostOptions<QueueItem>
            {
                DeadLetters = queue.DeadLetters,
                Serializer = Serializer,
                // For short items, not for large ones: as many as two batches of one queue, or the prefetch of the other.
                MaxItemsInFlight = 256,
            });
        _running = Task.Run(() => host.RunAsync(_stop.Token));
    }

    public static IWorkSerializer<QueueItem> Serializer { get; } = WorkSerializer.Json<QueueItem>();

    public static async Task<WeirWorker> StartAsync(IWorkQueue<QueueItem> queue, int consumers, Func<QueueItem, Task> handle) =>
        new(await queue.OpenSourceAsync(CancellationToken.None), queue, consumers, handle);

    public async ValueTask DisposeAsync()
    {
        await _stop.CancelAsync();
        await _running;
        await _source.DisposeAsync();
        await _runtime.DisposeAsync();
        _stop.Dispose();
    }
}
