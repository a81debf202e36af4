namespace Weir.Core.Sinks;

/// <summary>What the consumer of a stream may tell the run that feeds it.</summary>
internal interface IRunHandle
{
    /// <summary>The caller has cancelled, which the consumer may see before the run does.</summary>
    void Cancel(CancellationToken by);

    /// <summary>The consumer has left: the run ends.</summary>
    void Abandon();

    /// <summary>Whether the run has failed, which is then what the consumer is told, also when the caller cancels afterwards.</summary>
    bool HasFailed { get; }

    /// <summary>The ceiling was raised: reading may go on.</summary>
    void Release();
}
