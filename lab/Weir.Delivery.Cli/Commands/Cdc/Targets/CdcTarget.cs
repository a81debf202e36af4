using Weir.Delivery.Cli.Commands.Cdc.Lines;
using Weir.Delivery.Cli.Engines;

namespace Weir.Delivery.Cli.Commands.Cdc.Targets;

/// <summary>Where lines go.</summary>
internal sealed class CdcTarget : IAsyncDisposable
{
    private readonly WorkEngines.OpenedQueue? _queue;
    private readonly IWorkSink<ChangeLine>? _lines;
    private readonly MemoryWorkQueue<string> _none = new("cdc", WorkSerializer.Text);

    /// <summary>Lines for a program or for the output, which refuses none.</summary>
    public CdcTarget(string name, IWorkSink<ChangeLine> lines, bool takesBatches = false)
    {
        Name = name;
        TakesBatches = takesBatches;
        _lines = lines;
    }

    /// <summary>Lines for a queue.</summary>
    public CdcTarget(WorkEngines.OpenedQueue queue)
    {
        Name = $"the queue {queue.Queue.Name}";
        _queue = queue;
    }

    /// <summary>What it is called in messages.</summary>
    public string Name { get; }

    /// <summary>Whether each batch is done before the next one is read, so that no more comes again than has to.</summary>
    public bool TakesBatches { get; }

    /// <summary>Where a line goes that it can never take.</summary>
    public IDeadLetters DeadLetters => _queue?.Queue.DeadLetters ?? _none.DeadLetters;

    public Task SetupAsync(CancellationToken stop) => _queue is null ? Task.CompletedTask : _queue.Queue.SetupAsync(stop);

    public async ValueTask<IWorkSink<ChangeLine>> OpenAsync(CancellationToken stop) => _lines ?? new QueueLines(await _queue!.Queue.OpenSinkAsync(stop));

    public async ValueTask DisposeAsync()
    {
        await _none.DisposeAsync();
        if (_queue is not null)
        {
            await _queue.DisposeAsync();
        }
    }
}
