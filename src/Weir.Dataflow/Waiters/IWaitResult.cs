namespace Weir.Dataflow.Waiters;

/// <summary>What somebody who waits gets in the end.</summary>
internal interface IWaitResult<in TResult>
{
    void Set(TResult result);

    void Fail(Exception exception);

    void Cancel(CancellationToken token);
}
