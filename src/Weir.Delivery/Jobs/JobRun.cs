using System.Diagnostics.CodeAnalysis;
using System.Runtime.CompilerServices;
using Weir.Core;
using Weir.Core.Sinks;
using Weir.Operators;
using Weir.Runtimes;

namespace Weir.Delivery;

// A batch inside one job of a job system, such as Hangfire, Quartz, MassTransit or Wolverine.
//
// A job system knows four ends of a job, and the call has one for each:
//
// - all items are done: it returns, and the job is done;
// - items have failed: it throws, and the job system tries the job again, or shows what failed. With a checkpoint only what is not done runs again;
// - the job system stops the job: it throws an OperationCanceledException with its token, which is how a job says that it is not done and has not failed;
// - the process is killed: the job system finds the job again, and the checkpoint what of it is done.
//
// A stop is soft at first: no item begins, and those that have begun may end (RunControl). When the grace period has passed, they are cancelled (_giveUp). The
// timer of the grace period is armed before the run stops: a run that ends at once disposes of it on this very thread. As in any run, an item that has begun is
// waited for until it ends or is given up at its time limit.
//
// Outcomes are taken from a stream and counted, so the memory of a job is that of the stream and of the failures that are kept, however long its source is.

/// <summary>Processes a batch of items inside one job of a job system. See docs/reference/job-systems.md.</summary>
public static class JobRun
{
    internal const int MostFailures = 1_000;

    /// <summary>Runs the items of one job: stops softly when the job system says so, and tells it how the job ended.</summary>
    /// <typeparam name="TItem">The type of the items.</typeparam>
    /// <param name="runtime">The runtime. It is shared by the jobs of the process, so it bounds them together, and stays the caller's.</param>
    /// <param name="items">The items, as for a call that yields outcomes: a list, a sequence that is read while the job goes on, or items with keys.</param>
    /// <param name="processor">The call for an item. Its token is cancelled at the item's time limit, and when the grace period of a stop has passed.</param>
    /// <param name="options">The options; <see langword="null"/> for the defaults.</param>
    /// <param name="stopToken">
    /// The token of the job system. When it is cancelled, no item begins, and those that have begun may end within <see cref="JobOptions.GracePeriod"/>.
    /// </param>
    /// <returns>What was done. All items are.</returns>
    /// <exception cref="ArgumentNullException">
    /// <paramref name="runtime"/>, <paramref name="items"/> or <paramref name="processor"/> is <see langword="null"/>. Thrown at the call.
    /// </exception>
    /// <exception cref="ArgumentOutOfRangeException">A value of <paramref name="options"/> is out of range. Thrown at the call.</exception>
    /// <exception cref="ArgumentException">The policies concern a run, have a fallback, or do not fit the items. Thrown at the call.</exception>
    /// <exception cref="ObjectDisposedException">The runtime has been disposed.</exception>
    /// <exception cref="JobFailedException">All items have run, and some have failed or timed out. Those are not done in the checkpoint.</exception>
    /// <exception cref="OperationCanceledException">
    /// The job was stopped before all items were done: it has the token of the job system. Or <see cref="JobOptions.TotalTimeout"/> has passed, or the runtime
    /// was disposed of, and items never ran: it has no token.
    /// </exception>
    /// <exception cref="IOException">The checkpoint cannot be read or saved, or another run has it.</exception>
    public static Task<JobResult> ProcessJobAsync<TItem>(
        this IExecutionRuntime runtime,
        IEnumerable<TItem> items,
        Func<TItem, CancellationToken, ValueTask> processor,
        JobOptions? options = null,
        CancellationToken stopToken = default)
    {
        ArgumentNullException.ThrowIfNull(runtime);
        ArgumentNullException.ThrowIfNull(items);
        ArgumentNullException.ThrowIfNull(processor);
        Job job = new(options ?? new JobOptions(), items.TryGetNonEnumeratedCount(out int count) ? count : null);
        return job.RunAsync(runtime.ProcessManyStreamAsync(items, processor, orderedOutput: false, job.Call, job.GivenUp), stopToken);
    }

    /// <summary>Runs the items of one job that an asynchronous sequence gives.</summary>
    /// <inheritdoc cref="ProcessJobAsync{TItem}(IExecutionRuntime, IEnumerable{TItem}, Func{TItem, CancellationToken, ValueTask}, JobOptions, CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Asynchronous)]
    public static Task<JobResult> ProcessJobAsync<TItem>(
        this IExecutionRuntime runtime,
        IAsyncEnumerable<TItem> items,
        Func<TItem, CancellationToken, ValueTask> processor,
        JobOptions? options = null,
        CancellationToken stopToken = default)
    {
        ArgumentNullException.ThrowIfNull(runtime);
        ArgumentNullException.ThrowIfNull(items);
        ArgumentNullException.ThrowIfNull(processor);
        Job job = new(options ?? new JobOptions(), null);
        return job.RunAsync(runtime.ProcessManyStreamAsync(items, processor, orderedOutput: false, job.Call, job.GivenUp), stopToken);
    }

    /// <summary>Runs the items of one job, with a processor that returns a <see cref="Task"/>.</summary>
    /// <inheritdoc cref="ProcessJobAsync{TItem}(IExecutionRuntime, IEnumerable{TItem}, Func{TItem, CancellationToken, ValueTask}, JobOptions, CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Rank)]
    public static Task<JobResult> ProcessJobAsync<TItem>(
        this IExecutionRuntime runtime,
        IEnumerable<TItem> items,
        Func<TItem, CancellationToken, Task> processor,
        JobOptions? options = null,
        CancellationToken stopToken = default) =>
        runtime.ProcessJobAsync(items, TaskCalls.Action(processor), options, stopToken);

    /// <summary>Runs the items of one job that an asynchronous sequence gives, with a processor that returns a <see cref="Task"/>.</summary>
    /// <inheritdoc cref="ProcessJobAsync{TItem}(IExecutionRuntime, IEnumerable{TItem}, Func{TItem, CancellationToken, ValueTask}, JobOptions, CancellationToken)"/>
    [OverloadResolutionPriority(Priority.Rank + Priority.Asynchronous)]
    public static Task<JobResult> ProcessJobAsync<TItem>(
        this IExecutionRuntime runtime,
        IAsyncEnumerable<TItem> items,
        Func<TItem, CancellationToken, Task> processor,
        JobOptions? options = null,
        CancellationToken stopToken = default) =>
        runtime.ProcessJobAsync(items, TaskCalls.Action(processor), options, stopToken);

    /// <summary>One job: its call of the runtime, its stop, and its counts.</summary>
    [SuppressMessage("Design", "CA1001:Types that own disposable fields should be disposable", Justification = "Without a timer, the source holds nothing.")]
    private sealed class Job
    {
        private readonly JobOptions _options;
        private readonly RunControl _control = new();
        private readonly CancellationTokenSource _giveUp = new();

        // How many items there are; null if nobody knows, or if what is done already cannot be counted among them.
        private readonly long? _count;
        private long _skipped;

        public Job(JobOptions options, long? count)
        {
            options.Validate();
            _options = options;
            ParallelRunOptions? policies = options.Policies;
            _count = policies?.Resume?.Key is null ? count : null;
            if (policies?.Resume is { } resume)
            {
                policies = policies with
                {
                    Resume = resume with
                    {
                        OnResume = done =>
                        {
                            _skipped = done;
                            resume.OnResume?.Invoke(done);
                        },
                    },
                };
            }

            Call = new ProcessManyOptions
            {
                Policies = policies,
                TotalTimeout = options.TotalTimeout,
                Control = _control,
                OperationName = policies?.OperationName,
                Tags = policies?.Metrics?.Tags,
            };
        }

        public ProcessManyOptions Call { get; }

        public CancellationToken GivenUp => _giveUp.Token;

        public async Task<JobResult> RunAsync<TItem>(IAsyncEnumerable<(int Index, ItemOutcome<TItem> Outcome)> outcomes, CancellationToken stopToken)
        {
            stopToken.ThrowIfCancellationRequested();
            long succeeded = 0;
            long failed = 0;
            long others = 0;
            Exception? deadline = null;
            List<(int Index, ItemOutcome<object?> Outcome)> failures = [];
            using (ITimer grace = _options.TimeProvider.CreateTimer(
                static job => Unattended.Run((Job)job!, static job => job.GiveUp(), static (job, _) => job.GiveUp()),
                this,
                Timeout.InfiniteTimeSpan,
                Timeout.InfiniteTimeSpan))
            using (stopToken.UnsafeRegister(
                static state => Unattended.Run((Stopping)state!, static s => s.Begin(), static (s, _) => s.Fail()), new Stopping(this, grace)))
            {
                try
                {
                    await foreach ((int index, ItemOutcome<TItem> outcome) in outcomes.ConfigureAwait(false))
                    {
                        switch (outcome.Status)
                        {
                            case ItemStatus.Succeeded:
                                succeeded++;
                                break;
                            case ItemStatus.Failed or ItemStatus.TimedOut:
                                if (failed++ < MostFailures)
                                {
                                    failures.Add((index, new(new ItemOutcome<object?, Nothing>(outcome.Item, default, outcome.Error, outcome.Status))));
                                }

                                break;
                            default:
                                others++;
                                deadline ??= outcome.Error;
                                break;
                        }
                    }
                }
                catch (OperationCanceledException) when (stopToken.IsCancellationRequested)
                {
                    throw Stopped(_skipped + succeeded, stopToken);
                }
            }

            JobResult result = new() { Succeeded = succeeded, Failed = failed, Skipped = _skipped };
            if (stopToken.IsCancellationRequested && _skipped + succeeded != _count)
            {
                throw Stopped(_skipped + succeeded, stopToken);
            }

            return failed > 0 ? throw new JobFailedException(result, [.. failures.OrderBy(static f => f.Index)])
                : others == 0 ? result
                : throw new OperationCanceledException(
                    (others == 1 ? "One item of the job was" : $"{ExceptionText.Number(others)} items of the job were") + " cancelled or never ran"
                        + (deadline is null ? ": the runtime was disposed of." : $": {deadline.Message}"),
                    deadline?.InnerException);
        }

        private void GiveUp() => SafeCancel.Now(_giveUp);

        private static OperationCanceledException Stopped(long done, CancellationToken stopToken) =>
            new($"The job was stopped when {ExceptionText.Number(done)} of its items were done.", stopToken);

        private sealed class Stopping(Job job, ITimer grace)
        {
            public void Begin()
            {
                grace.Change(job._options.GracePeriod, Timeout.InfiniteTimeSpan);
                job._control.Stop();
            }

            // Without the timer, nothing else would end items that hang.
            public void Fail() => job.GiveUp();
        }
    }
}

/// <summary>The options of a job. Immutable: a <c>with</c> expression makes a changed copy.</summary>
public sealed record JobOptions
{
    /// <summary>
    /// What concerns the items: the checkpoint (<see cref="ParallelRunOptions.Resume"/>), retries, time limits, rate and concurrency limits, progress reports and
    /// hooks, and the name of the operation.
    /// </summary>
    /// <value><see langword="null"/>, the default, for the policies of the runtime, without a checkpoint.</value>
    /// <remarks>
    /// As for the calls of a runtime: see <see cref="ProcessManyOptions.Policies"/>. Give the checkpoint a source that can be told from others, such as
    /// <c>store.AsCheckpoint(jobId).OfVersion("letters", jobId)</c>: a job that is delivered once more after its end then has nothing to do.
    /// </remarks>
    public ParallelRunOptions? Policies { get; init; }

    /// <summary>How long the items may take together. Then running items have timed out, others never run, and the job fails.</summary>
    /// <value>
    /// More than zero and at most <see cref="uint.MaxValue"/> - 1 milliseconds; <see langword="null"/>, the default, for no limit.
    /// <see cref="Timeout.InfiniteTimeSpan"/> is stored as <see langword="null"/>.
    /// </value>
    public TimeSpan? TotalTimeout { get; init => field = Require.NoneIfInfinite(value); }

    /// <summary>How long items that have begun may go on after the job system has stopped the job. Then their tokens are cancelled.</summary>
    /// <value>
    /// Zero or more, or <see cref="Timeout.InfiniteTimeSpan"/>. The default is 10 seconds: less than the time after which the job systems, and the host, no longer
    /// wait.
    /// </value>
    /// <remarks>An item that ignores its token is given up at its own time limit (<see cref="ParallelRunOptions.PerItemTimeout"/>), and holds the job until then.</remarks>
    public TimeSpan GracePeriod { get; init; } = TimeSpan.FromSeconds(10);

    /// <summary>The clock for the grace period. All other times are the runtime's.</summary>
    /// <value>The default is <see cref="TimeProvider.System"/>.</value>
    public TimeProvider TimeProvider { get; init; } = TimeProvider.System;

    internal void Validate()
    {
        ArgumentNullException.ThrowIfNull(TimeProvider, nameof(TimeProvider));
        Require.Timeout(TotalTimeout, nameof(TotalTimeout));
        Require.GracePeriod(GracePeriod, nameof(GracePeriod));
    }
}

/// <summary>What a job has done. Immutable.</summary>
public sealed record JobResult
{
    /// <summary>The items that succeeded.</summary>
    public long Succeeded { get; init; }

    /// <summary>The items that failed or timed out.</summary>
    public long Failed { get; init; }

    /// <summary>The items that earlier runs of the job have done, by its checkpoint.</summary>
    public long Skipped { get; init; }
}

/// <summary>All items of a job have run, and some of them failed or timed out.</summary>
/// <remarks>Its message has the counts, and the first 10 different messages: job systems show and store it. The indices are those of the items of this run.</remarks>
[SuppressMessage("Usage", "CA2237:Mark ISerializable types with serializable", Justification = "Binary serialization is gone.")]
[SuppressMessage("Design", "CA1032:Implement standard exception constructors", Justification = "It is always about items.")]
public sealed class JobFailedException : ItemsFailedException
{
    internal JobFailedException(JobResult result, IReadOnlyList<(int Index, ItemOutcome<object?> Outcome)> failures)
        : base([.. failures.Select(static f => new ItemFailure(f.Index, f.Outcome.Error!))])
    {
        Result = result;
        Outcomes = [.. failures.Select(static f => f.Outcome)];
    }

    /// <summary>How many items succeeded and failed, and how many were done before.</summary>
    public JobResult Result { get; }

    /// <summary>The outcomes of items that failed or timed out, in input order, at most 1,000: the first that ended.</summary>
    /// <value><c>Outcomes.WriteReport("failed.csv")</c> writes them as a file.</value>
    public IReadOnlyList<ItemOutcome<object?>> Outcomes { get; }

    /// <inheritdoc/>
    public override string Message =>
        $"{ExceptionText.Number(Result.Failed)} of {ExceptionText.Number(Result.Failed + Result.Succeeded)} items failed"
            + (Result.Skipped > 0 ? $", and {ExceptionText.Number(Result.Skipped)} were done before." : ".")
            + ExceptionText.MessagesOf(InnerExceptions);
}
