using System.Diagnostics.CodeAnalysis;
using System.Text;
using Weir.Core.Sinks;

namespace Weir;

/// <summary>
/// One or more items of a run with <see cref="ErrorMode.CollectAndContinue"/> failed. The inner exceptions are those of the
/// items, in source order.
/// </summary>
/// <remarks>
/// <see cref="Message"/> and <see cref="ToString"/> fit into a line of a log, however many items failed: at most about 6,000 and 50,000 characters. They show
/// the first 10 different messages and count the others. All exceptions are in <see cref="Failures"/> and <see cref="AggregateException.InnerExceptions"/>.
/// </remarks>
[SuppressMessage("Usage", "CA2237:Mark ISerializable types with serializable", Justification = "Binary serialization is gone.")]
public class ItemsFailedException : AggregateException
{
    // Made when somebody asks: a run that failed in many items does not read their messages, which are user code.
    private string? _message;

    /// <summary>Creates the exception from the failures of a run.</summary>
    /// <param name="failures">The failures, in source order; at least one.</param>
    /// <exception cref="ArgumentNullException"><paramref name="failures"/> is <see langword="null"/>.</exception>
    public ItemsFailedException(IReadOnlyList<ItemFailure> failures)
        : base(null, ErrorsOf(failures))
    {
        Failures = failures;
    }

    /// <summary>Each failure with the item's index, in source order.</summary>
    public IReadOnlyList<ItemFailure> Failures { get; }

    /// <summary>
    /// How many items failed, and with which messages: the first 10 different ones, each shortened to 500 characters, with the number of items, and how many
    /// items failed with others.
    /// </summary>
    public override string Message =>
        _message ??= (Failures.Count == 1 ? "One item failed." : $"{ExceptionText.Number(Failures.Count)} items failed.")
            + ExceptionText.MessagesOf(InnerExceptions);

    /// <summary>
    /// The message, the stack, and for each message that is shown the first exception with its item and its own stack, each shortened to 4,000 characters.
    /// </summary>
    /// <returns>The text.</returns>
    public override string ToString()
    {
        StringBuilder text = new();
        text.Append(GetType()).Append(": ").Append(Message);
        if (ExceptionText.StackOf(this) is { } stack)
        {
            text.AppendLine().Append(stack);
        }

        List<int> shown = ExceptionText.FirstOfEach(InnerExceptions, out int others);
        foreach (int place in shown)
        {
            text.AppendLine().Append(" ---> ");
            if (Failures[place].Index >= 0)
            {
                text.Append("(Item ").Append(Failures[place].Index).Append(") ");
            }

            text.Append(ExceptionText.Of(Failures[place].Error));
        }

        return others == 0 ? text.ToString() : text.AppendLine().Append(" and ").Append(ExceptionText.Number(others)).Append(" more").ToString();
    }

    private static IEnumerable<Exception> ErrorsOf(IReadOnlyList<ItemFailure> failures)
    {
        ArgumentNullException.ThrowIfNull(failures);
        return failures.Select(static f => f.Error);
    }
}

/// <summary>An <see cref="ItemsFailedException"/> that also contains the results of the items that succeeded.</summary>
/// <typeparam name="TResult">The type of the results.</typeparam>
[SuppressMessage("Usage", "CA2237:Mark ISerializable types with serializable", Justification = "Binary serialization is gone.")]
public sealed class ItemsFailedException<TResult> : ItemsFailedException
{
    /// <summary>Creates the exception from the failures and the results of a run.</summary>
    /// <param name="failures">The failures, in source order; at least one.</param>
    /// <param name="results">The results of the items that succeeded, in source order.</param>
    /// <exception cref="ArgumentNullException">An argument is <see langword="null"/>.</exception>
    public ItemsFailedException(IReadOnlyList<ItemFailure> failures, IReadOnlyList<TResult> results)
        : base(failures)
    {
        ArgumentNullException.ThrowIfNull(results);
        Results = results;
    }

    /// <summary>The results of the items that succeeded, in source order.</summary>
    public IReadOnlyList<TResult> Results { get; }
}

/// <summary>
/// A run did not end within its time limit, <c>TotalTimeout</c>: the inner exception of the <see cref="OperationCanceledException"/> that the run ends with, or,
/// where its caller gets outcomes, those of the items that had not ended by then.
/// </summary>
public sealed class RunTimeoutException : TimeoutException
{
    /// <summary>Creates the exception.</summary>
    public RunTimeoutException()
        : this("The run did not end within its time limit.")
    {
    }

    /// <summary>Creates the exception.</summary>
    /// <param name="message">The message.</param>
    public RunTimeoutException(string message)
        : base(message)
    {
    }

    /// <summary>Creates the exception.</summary>
    /// <param name="message">The message.</param>
    /// <param name="innerException">The cause.</param>
    public RunTimeoutException(string message, Exception? innerException)
        : base(message, innerException)
    {
    }

    internal RunTimeoutException(TimeSpan limit)
        : base($"The run did not end within its time limit of {limit}.") => Limit = limit;

    /// <summary>The limit; <see cref="TimeSpan.Zero"/> if it is not known.</summary>
    public TimeSpan Limit { get; }
}

/// <summary>
/// An item did not end within its time limit, <c>PerItemTimeout</c>: the inner exception of the <see cref="OperationCanceledException"/> that the item ends
/// with.
/// </summary>
public sealed class ItemTimeoutException : TimeoutException
{
    /// <summary>Creates the exception.</summary>
    public ItemTimeoutException()
        : this("The item did not end within its time limit.")
    {
    }

    /// <summary>Creates the exception.</summary>
    /// <param name="message">The message.</param>
    public ItemTimeoutException(string message)
        : base(message)
    {
    }

    /// <summary>Creates the exception.</summary>
    /// <param name="message">The message.</param>
    /// <param name="innerException">The cause.</param>
    public ItemTimeoutException(string message, Exception? innerException)
        : base(message, innerException)
    {
    }

    internal ItemTimeoutException(TimeSpan limit, long? index)
        : base($"{(index is null ? "The item" : $"Item {index}")} did not end within its time limit of {limit}.") => Limit = limit;

    /// <summary>The limit; <see cref="TimeSpan.Zero"/> if it is not known.</summary>
    public TimeSpan Limit { get; }
}
