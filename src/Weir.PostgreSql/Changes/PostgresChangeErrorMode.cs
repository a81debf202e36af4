namespace Weir.PostgreSql;

/// <summary>What becomes of a change that cannot be read: a value is no valid text, or the function that makes the item of it has thrown.</summary>
public enum PostgresChangeErrorMode
{
    /// <summary>Reading ends with a <see cref="WorkSetupException"/> that names the change. The position stays before it, so nothing is lost.</summary>
    Stop,

    /// <summary>It is left out, and <see cref="PostgresChangeSourceOptions.OnFailedChange"/> hears of it.</summary>
    Skip,

    /// <summary>
    /// It is stored in <see cref="PostgresChangeSourceOptions.DeadLetters"/>, before the batch that would have had it is delivered, so before any position
    /// behind it can be saved.
    /// </summary>
    DeadLetter,
}
