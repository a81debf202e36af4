namespace Weir.Core.Dispatch;

/// <summary>A started call: a ValueTask of one kind or another. Consume it only once.</summary>
internal interface IPending<out TResult>
{
    bool IsCompleted { get; }

    bool IsCompletedSuccessfully { get; }

    TResult GetResult();

    /// <summary>Calls back once, without the execution context and without a captured context.</summary>
    void OnCompleted(Action continuation);
}
