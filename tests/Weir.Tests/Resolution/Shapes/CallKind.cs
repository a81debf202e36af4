namespace Weir.Tests.Resolution.Shapes;

/// <summary>The overloads that there are for one operator and one source.</summary>
internal enum CallKind
{
    ValueTask = 0,

    Task = 1,

    /// <summary>With a result that is discarded.</summary>
    ValueTaskResult = 2,

    NoTokenValueTask = 3,

    NoTokenTask = 4,

    /// <inheritdoc cref="ValueTaskResult"/>
    NoTokenValueTaskResult = 5,

    Synchronous = 6,

    SynchronousWithToken = 7,

    /// <inheritdoc cref="ValueTaskResult"/>
    SynchronousResult = 8,

    /// <inheritdoc cref="ValueTaskResult"/>
    SynchronousResultWithToken = 9,
}
