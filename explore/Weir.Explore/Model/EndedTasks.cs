namespace Weir.Explore.Model;

/// <summary>
/// The tasks of <c>Task.WhenEach</c>, in the order in which they end. As on the platform, each is there once, however often it is enumerated, and who waits for
/// the next one goes on on the pool.
/// </summary>
[Replaces("System.Threading.Tasks.Task")]
internal static class EndedTasks
{
    public static IAsyncEnumerable<Task> WhenEach(params Task[] tasks) => new InOrder<Task>(Tasks.Copy(tasks));
    public static IAsyncEnumerable<Task> WhenEach(params ReadOnlySpan<Task> tasks) => new InOrder<Task>(Tasks.Copy(tasks.ToArray()));
    public static IAsyncEnumerable<Task> WhenEach(IEnumerable<Task> tasks) => new InOrder<Task>(Tasks.Copy(tasks));
    public static IAsyncEnumerable<Task<T>> WhenEach<T>(params Task<T>[] tasks) => new InOrder<Task<T>>(Tasks.Copy(tasks));
    public static IAsyncEnumerable<Task<T>> WhenEach<T>(params ReadOnlySpan<Task<T>> tasks) => new InOrder<Task<T>>(Tasks.Copy(tasks.ToArray()));
    public static IAsyncEnumerable<Task<T>> WhenEach<T>(IEnumerable<Task<T>> tasks) => new InOrder<Task<T>>(Tasks.Copy(tasks));

    private sealed class InOrder<TTask> : IAsyncEnumerable<TTask>, IAsyncEnumerator<TTask>
        where TTask : Task
    {
        private readonly Queue<TTask> _ended = new();
        private TaskCompletionSource? _next;
        private CancellationToken _token;
        private int _left;
        private bool _isTaken;

        public InOrder(TTask[] tasks)
        {
            _left = tasks.Length;
            foreach (TTask task in tasks)
            {
                if (Tasks.HasEnded(task))
                {
                    _ended.Enqueue(task);
                }
                else
                {
                    Registrars.On(task, () => Add(task), capture: false, isInline: true);
                }
            }
        }

        public TTask Current { get; private set; } = null!;

        public IAsyncEnumerator<TTask> GetAsyncEnumerator(CancellationToken cancellationToken = default)
        {
            Points.Me.StepOn(this);
            if (_isTaken)
            {
                return new InOrder<TTask>([]);
            }

            (_isTaken, _token) = (true, cancellationToken);
            return this;
        }

        public ValueTask<bool> MoveNextAsync()
        {
            TaskCompletionSource<bool> moved = new();
            Move(moved);
            return new ValueTask<bool>(moved.Task);
        }

        public ValueTask DisposeAsync()
        {
            _left = 0;
            return default;
        }

        private void Add(TTask task)
        {
            Effects.AcquireRelease(this);
            _ended.Enqueue(task);
            if (_ended.Count == 1 && _next is { } next)
            {
                Effects.Release(next.Task);
                next.TrySetResult();
            }
        }

        private void Move(TaskCompletionSource<bool> moved)
        {
            Points.Me.StepOn(this);
            Effects.AcquireRelease(this);
            Effects.ObserveToken(ref _token);
            if (_left > 0 && _ended.TryDequeue(out TTask? ended))
            {
                if (_token.IsCancellationRequested)
                {
                    Fail(moved, new OperationCanceledException(_token));
                    return;
                }

                Effects.Acquire(ended);
                _left--;
                Current = ended;
                End(moved, hasNext: true);
            }
            else if (_left == 0)
            {
                End(moved, hasNext: false);
            }
            else if (_token.IsCancellationRequested)
            {
                Fail(moved, new TaskCanceledException());
            }
            else
            {
                _next = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
                Task next = _token.CanBeCanceled ? Tasks.WaitAsync(_next.Task, _token) : _next.Task;
                Registrars.On(next, () => GoOn(next, moved), capture: false);
            }
        }

        private void GoOn(Task next, TaskCompletionSource<bool> moved)
        {
            if (next.IsCanceled)
            {
                Fail(moved, new TaskCanceledException(next));
            }
            else
            {
                Move(moved);
            }
        }

        private void Fail(TaskCompletionSource<bool> moved, Exception error)
        {
            _left = 0;
            Effects.Release(moved.Task);
            moved.SetException(error);
        }

        private static void End(TaskCompletionSource<bool> moved, bool hasNext)
        {
            Effects.Release(moved.Task);
            moved.SetResult(hasNext);
        }
    }
}
