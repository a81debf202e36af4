using System.Globalization;
using Weir.Lab.Queues.Arms;
using Weir.Runtimes;

namespace Weir.Lab.Queues.Jobs;

/// <summary>What a job does with its items.</summary>
internal sealed class JobWork : IAsyncDisposable
{
    private readonly IExecutionRuntime? _runtime;
    private readonly string? _checkpoints;
    private readonly Func<int, ValueTask> _effect;

    /// <param name="shape">How it works them off.</param>
    /// <param name="checkpoints">The folder in which jobs that resume note what is done.</param>
    /// <param name="effect">The work of an item. It is called by several threads at once.</param>
    public JobWork(JobShape shape, string checkpoints, Func<int, ValueTask> effect)
    {
        _effect = effect;
        _checkpoints = shape.Resumes ? checkpoints : null;
        _runtime = shape.Runtime switch
        {
            null => null,
            JobShape.Direct => new DirectRuntime(),
            JobShape.Concurrent => new ConcurrentRuntime(JobShape.AtOnce),
            JobShape.Parallel => new ParallelRuntime(),
            _ => new AutoRuntime(JobShape.AtOnce),
        };
    }

    /// <summary>Does a job.</summary>
    /// <remarks>It fails if an item has failed.</remarks>
    public async Task HandleAsync(QueueItem job)
    {
        int[] items = job.ReadItems();
        if (_runtime is null)
        {
            foreach (int item in items)
            {
                await _effect(item);
            }

            return;
        }

        string number = job.Number.ToString(CultureInfo.InvariantCulture);
        ProcessManyOptions? options = _checkpoints is null ? null : new()
        {
            Policies = new ParallelRunOptions { Resume = Checkpoint.File(Path.Combine(_checkpoints, $"{number}.done")).OfVersion("job", number) },
        };
        ItemOutcome<int, int>[] outcomes = await _runtime.ProcessManyAsync(
            items,
            async (item, _) =>
            {
                await _effect(item);
                return item;
            },
            options);
        foreach (ItemOutcome<int, int> outcome in outcomes)
        {
            outcome.GetValueOrThrow();
        }
    }

    public ValueTask DisposeAsync() => _runtime?.DisposeAsync() ?? default;
}
