namespace Weir.RabbitMQ;

/// <summary>RabbitMQ refused messages: the queue is full, or its node failed. It names them; the others of the call were published.</summary>
public sealed class RabbitRefusedException : Exception
{
    /// <summary>Creates an exception without a message of its own.</summary>
    public RabbitRefusedException()
        : this("RabbitMQ refused messages.")
    {
    }

    /// <summary>Creates an exception.</summary>
    /// <param name="message">Which messages.</param>
    public RabbitRefusedException(string message)
        : base(message)
    {
    }

    /// <summary>Creates an exception with a cause.</summary>
    /// <param name="message">Which messages.</param>
    /// <param name="innerException">The cause.</param>
    public RabbitRefusedException(string message, Exception innerException)
        : base(message, innerException)
    {
    }

    internal RabbitRefusedException(string message, IReadOnlyList<string> messageIds)
        : base(message) => MessageIds = messageIds;

    /// <summary>The identities of the refused messages, such as <c>orders/0-255</c> for the first 256 items of an origin.</summary>
    public IReadOnlyList<string> MessageIds { get; } = [];
}
