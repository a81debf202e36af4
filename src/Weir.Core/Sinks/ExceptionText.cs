using System.Globalization;
using System.Text;

namespace Weir.Core.Sinks;

/// <summary>
/// Texts of users' exceptions that fit into a line of a log, whatever the exceptions are: there may be very many, their messages may be very long, and their
/// properties may throw. What is left out is counted.
/// </summary>
/// <remarks>
/// An <see cref="AggregateException"/> with many inner exceptions is never asked for its text, which consists of all of theirs. Nesting ends at a small depth.
/// </remarks>
internal static class ExceptionText
{
    /// <summary>How many different messages, and how many exceptions with their stacks, are shown.</summary>
    public const int MostShown = 10;

    private const int LongestMessage = 500;
    private const int LongestText = 4_000;
    private const int Deepest = 3;

    /// <summary>How many exceptions one may consist of for its own text to be taken.</summary>
    private const int MostNodes = 30;

    /// <summary>The message of an exception, or the name of its type if it has none.</summary>
    public static string MessageOf(Exception error) => MessageOf(error, 0);

    /// <summary>The stack of an exception, or null.</summary>
    public static string? StackOf(Exception error)
    {
        try
        {
            return error.StackTrace is { } stack ? Shorten(stack, LongestText) : null;
        }
        catch (Exception)
        {
            return null;
        }
    }

    /// <summary>An exception with its stack, as <see cref="Exception.ToString"/> gives it.</summary>
    public static string Of(Exception error)
    {
        if (!IsLarge(error))
        {
            try
            {
                return Shorten(error.ToString(), LongestText);
            }
            catch (Exception)
            {
                // It is made below from what can be read.
            }
        }

        StringBuilder text = new();
        Exception? next = error;
        for (int depth = 0; next is not null && text.Length < LongestText; depth++, next = depth == Deepest ? null : next.InnerException)
        {
            text.Append(depth == 0 ? "" : $"{Environment.NewLine} ---> ").Append(TypeOf(next)).Append(": ").Append(MessageOf(next));
            if (StackOf(next) is { } stack)
            {
                text.AppendLine().Append(stack);
            }
        }

        return Shorten(text.ToString(), LongestText);
    }

    /// <summary>The messages of several exceptions, each different one once, and how many exceptions are not among them.</summary>
    public static string MessagesOf(IReadOnlyList<Exception> errors) => Describe(Groups(errors, 0));

    /// <summary>The first exception with each different message, by its place in the list.</summary>
    /// <param name="errors">The exceptions.</param>
    /// <param name="others">How many have none of these messages.</param>
    public static List<int> FirstOfEach(IReadOnlyList<Exception> errors, out int others)
    {
        (List<Group> groups, others) = Groups(errors, 0);
        return groups.ConvertAll(static group => group.First);
    }

    /// <summary>A number as the texts show it.</summary>
    public static string Number(long number) => number.ToString("N0", CultureInfo.InvariantCulture);

    private static string MessageOf(Exception error, int depth)
    {
        try
        {
            if (error is AggregateException many && IsLarge(many))
            {
                string head = $"{TypeOf(many)} of {Number(many.InnerExceptions.Count)}";
                return depth == Deepest ? head : Shorten(head + Describe(Groups(many.InnerExceptions, depth + 1)), LongestMessage);
            }

            return error.Message is { } message ? Shorten(message, LongestMessage) : TypeOf(error);
        }
        catch (Exception)
        {
            return TypeOf(error);
        }
    }

    // There are at most ten groups, and none is added after that: so the time is linear, and the memory does not depend on the number.
    private static (List<Group> Groups, int Others) Groups(IReadOnlyList<Exception> errors, int depth)
    {
        List<Group> groups = [];
        int others = 0;
        for (int i = 0; i < errors.Count; i++)
        {
            string message = MessageOf(errors[i], depth);
            int known = 0;
            while (known < groups.Count && groups[known].Message != message)
            {
                known++;
            }

            if (known < groups.Count)
            {
                groups[known] = groups[known] with { Count = groups[known].Count + 1 };
            }
            else if (known < MostShown)
            {
                groups.Add(new Group(message, i, 1));
            }
            else
            {
                others++;
            }
        }

        return (groups, others);
    }

    private static string Describe((List<Group> Groups, int Others) all)
    {
        StringBuilder text = new();
        foreach (Group group in all.Groups)
        {
            text.Append(" (").Append(group.Message);
            if (group.Count > 1)
            {
                text.Append(", ").Append(Number(group.Count)).Append(" times");
            }

            text.Append(')');
        }

        return all.Others == 0 ? text.ToString() : text.Append(" and ").Append(Number(all.Others)).Append(" more").ToString();
    }

    /// <summary>Whether the exception's own text may be very long, or its nesting very deep.</summary>
    private static bool IsLarge(Exception error)
    {
        int left = MostNodes;
        return !Fits(error, ref left);
    }

    private static bool Fits(Exception error, ref int left)
    {
        if (--left < 0)
        {
            return false;
        }

        if (error is not AggregateException many)
        {
            return error.InnerException is not { } inner || Fits(inner, ref left);
        }

        if (many.InnerExceptions.Count > MostShown)
        {
            return false;
        }

        foreach (Exception inner in many.InnerExceptions)
        {
            if (!Fits(inner, ref left))
            {
                return false;
            }
        }

        return true;
    }

    private static string TypeOf(Exception error) => error.GetType().ToString();

    private static string Shorten(string text, int longest) =>
        text.Length <= longest ? text : string.Concat(text.AsSpan(0, char.IsHighSurrogate(text[longest - 1]) ? longest - 1 : longest), "…");

    private readonly record struct Group(string Message, int First, int Count);
}
