namespace Weir.Delivery.Cli.Commands.Cdc.Targets;

/// <summary>Where lines go.</summary>
internal sealed class CdcTarget : IAsyncDisposable
{
    private readonly IWorkQueue<string> _queue;
    private readonly IWorkSink<ChangeLine>? _lines;
    private readonly WorkEngines.OpenedQueue? _opened;

    /// <summary>Lines for a program or for the output.</summary>
    /// <param name="name">What it is called in messages.</param>
    /// <param name="lines">Takes the lines.</param>
    /// <param name="letters">The queue whose dead letters are of changes that cannot be read.</param>
    /// <param name="takesBatches">See <see cref="TakesBatches"/>.</param>
    public CdcTarget(string name, IWorkSink<ChangeLine> lines, IWorkQueue<string> letters, bool takesBatches = false)
    {
        Name = name;
        TakesBatches = takesBatches;
        _lines = lines;
        _queue = letters;
    }

    /// <summary>Lines for a queue.</summary>
    public CdcTarget(WorkEngines.OpenedQueue opened)
    {
        Name = $"the queue {opened.Queue.Name}";
        _opened = opened;
        _queue = opened.Queue;
    }

    /// <summary>What it is called in messages.</summary>
    public string Name { get; }

    /// <summary>Whether lines go to a queue.</summary>
    public bool IsQueue => _opened is not null;

    /// <summary>Whether each batch is done before the next one is read, so that no more comes again than has to.</summary>
    public bool TakesBatches { get; }

    /// <summary>Where a line goes that it can never take, and a change that cannot be read.</summary>
    public IDeadLetters DeadLetters => _queue.DeadLetters;

    public Task SetupAsync(CancellationToken stop) => _queue.SetupAsync(stop);

    public async ValueTask<IWorkSink<ChangeLine>> OpenAsync(CancellationToken stop)
    {
        // Of a queue that takes dead letters alone, too: this is where a missing one is noticed.
        IWorkSink<string> sink = await _queue.OpenSinkAsync(stop);
        if (_lines is null)
        {
            return new QueueLines(sink);
        }

        await sink.DisposeAsync();
        return _lines;
    }

    public ValueTask DisposeAsync() => _opened?.DisposeAsync() ?? _queue.DisposeAsync();
}
