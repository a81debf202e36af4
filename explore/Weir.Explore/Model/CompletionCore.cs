using System.Threading.Tasks.Sources;

namespace Weir.Explore.Model;

/// <summary>The completion of a value task's source.</summary>
[Replaces("System.Threading.Tasks.Sources.ManualResetValueTaskSourceCore`1")]
internal struct CompletionCore<TResult>
{
    private Action<object?>? _continuation;
    private object? _state;
    private ExecutionContext? _context;
    private object? _order;
    private Exception? _error;
    private TResult? _result;
    private bool _isCompleted;

    public bool RunContinuationsAsynchronously { get; set; }

    public short Version
    {
        readonly get => (short)Order.Learn((ulong)field);
        private set;
    }

    public void Reset()
    {
        Order.Change(_order);
        Version++;
        (_continuation, _state, _context, _error, _result, _isCompleted) = (null, null, null, null, default, false);
    }

    public void SetResult(TResult result) => Complete(result, null);

    public void SetException(Exception error) => Complete(default, error);

    public readonly ValueTaskSourceStatus GetStatus(short token)
    {
        Require(token == Version);
        Order.Acquire(_isCompleted ? _order : null);
        return !_isCompleted ? ValueTaskSourceStatus.Pending
            : _error is null ? ValueTaskSourceStatus.Succeeded
            : _error is OperationCanceledException ? ValueTaskSourceStatus.Canceled
            : ValueTaskSourceStatus.Faulted;
    }

    public readonly TResult GetResult(short token)
    {
        Require(token == Version && _isCompleted);
        Order.Acquire(_order);
        if (_error is not null)
        {
            System.Runtime.ExceptionServices.ExceptionDispatchInfo.Throw(_error);
        }

        return _result!;
    }

    public void OnCompleted(Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags)
    {
        Order.Use(_order ??= new object());
        Require(token == Version && _continuation is null);
        if (_isCompleted)
        {
            Pool.QueueInside(() => continuation(state));
            return;
        }

        _context = (flags & ValueTaskSourceOnCompletedFlags.FlowExecutionContext) != 0 ? ExecutionContext.Capture() : null;
        (_continuation, _state) = (continuation, state);
    }

    private void Complete(TResult? result, Exception? error)
    {
        Points.Me.StepOn(_order ??= new object());
        Order.Use(_order);
        Require(!_isCompleted);
        (_result, _error, _isCompleted) = (result, error, true);
        if (_continuation is not { } continuation)
        {
            return;
        }

        (object? state, ExecutionContext? context) = (_state, _context);
        Action run = context is null ? () => continuation(state) : () => ExecutionContext.Run(context, continuation.Invoke, state);
        Action<Action> how = RunContinuationsAsynchronously ? Pool.QueueInside : static r => r();
        how(run);
    }

    private static void Require(bool holds)
    {
        if (!holds)
        {
            throw new InvalidOperationException();
        }
    }
}
