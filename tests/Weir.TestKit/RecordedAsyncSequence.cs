using System.Threading.Tasks.Sources;

namespace Weir.TestKit;

/// <summary>
/// An asynchronous sequence whose steps, like those of the compiler's iterators, may be awaited once only and are checked for it.
/// </summary>
internal sealed class RecordedAsyncSequence(SourcePlan plan, bool suspends) : IAsyncEnumerable<int>
{
    public IAsyncEnumerator<int> GetAsyncEnumerator(CancellationToken cancellationToken = default)
    {
        plan.Open();
        return new Enumerator(plan, suspends, cancellationToken);
    }

    private sealed class Enumerator(SourcePlan plan, bool suspends, CancellationToken token) : IAsyncEnumerator<int>, IValueTaskSource<bool>
    {
        private ManualResetValueTaskSourceCore<bool> _step;
        private int _next;
        private bool _ended;

        public int Current { get; private set; }

        public ValueTask<bool> MoveNextAsync()
        {
            plan.Record.BeginRead(!_ended);
            bool waits = _next == plan.WaitsAt;
            if (!suspends && !waits)
            {
                return new ValueTask<bool>(Move());
            }

            _step.Reset();
            _ = AnswerAsync(waits);
            return new ValueTask<bool>(this, _step.Version);
        }

        public ValueTask DisposeAsync()
        {
            _ended = true;
            plan.Close();
            return default;
        }

        public bool GetResult(short token) => _step.GetResult(token);

        public ValueTaskSourceStatus GetStatus(short token) => _step.GetStatus(token);

        public void OnCompleted(Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags) =>
            _step.OnCompleted(continuation, state, token, flags);

        private bool Move()
        {
            Current = plan.Step(ref _next, ref _ended);
            return !_ended;
        }

        private async Task AnswerAsync(bool waits)
        {
            bool moved;
            try
            {
                await Task.Yield();
                if (waits)
                {
                    await WaitAsync();
                }

                moved = Move();
            }
            catch (Exception e)
            {
                _step.SetException(e);
                return;
            }

            _step.SetResult(moved);
        }

        private async Task WaitAsync()
        {
            try
            {
                await plan.Gate!.WaitAsync(plan.IgnoresToken ? CancellationToken.None : token).ConfigureAwait(false);
            }
            catch
            {
                _ended = true;
                plan.Record.EndRead();
                throw;
            }
        }
    }
}
