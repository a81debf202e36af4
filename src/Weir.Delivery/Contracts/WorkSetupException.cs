namespace Weir.Delivery;

/// <summary>A queue, stream or table does not exist, or its setup is wrong. Trying again does not help: the setup has to be changed.</summary>
public sealed class WorkSetupException : Exception
{
    /// <summary>Creates an exception without a message of its own.</summary>
    public WorkSetupException()
        : this("The queue, stream or table is not set up.")
    {
    }

    /// <summary>Creates an exception.</summary>
    /// <param name="message">What is wrong, and how to fix it.</param>
    public WorkSetupException(string message)
        : base(message)
    {
    }

    /// <summary>Creates an exception with a cause.</summary>
    /// <param name="message">What is wrong, and how to fix it.</param>
    /// <param name="innerException">The cause.</param>
    public WorkSetupException(string message, Exception innerException)
        : base(message, innerException)
    {
    }
}
