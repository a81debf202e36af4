namespace Weir.Core.Sinks;

/// <summary>What the consumer of a stream may tell the run that feeds it.</summary>
internal interface IRunHandle
{
    /// <summary>The consumer has left: the run ends.</summary>
    void Abandon();

    /// <summary>The ceiling was raised: reading may go on.</summary>
    void Release();
}
