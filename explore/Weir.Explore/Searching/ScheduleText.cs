using System.Globalization;

namespace Weir.Explore.Searching;

/// <summary>The choices of a schedule as text: <c>12x0.2.1</c> is twelve times choice 0, then 2, then 1. Zeros at the end are left out.</summary>
internal static class ScheduleText
{
    public static string Write(string name, ReadOnlySpan<byte> choices)
    {
        choices = choices.TrimEnd((byte)0);
        StringBuilder text = new(name + ":");
        for (int i = 0; i < choices.Length;)
        {
            int end = i;
            while (end < choices.Length && choices[end] == choices[i])
            {
                end++;
            }

            text.Append(i > 0 ? "." : "").Append(end - i > 1 ? string.Create(CultureInfo.InvariantCulture, $"{end - i}x") : "").Append(choices[i]);
            i = end;
        }

        return text.ToString();
    }

    public static bool TryRead(string text, string name, out byte[] choices)
    {
        choices = [];
        int colon = text.IndexOf(':', StringComparison.Ordinal);
        if (colon < 0)
        {
            throw new FormatException($"WEIR_SCHEDULE is '{text}'. It has to be one that a failure has printed: a name, a colon, and choices.");
        }

        if (text[..colon] != name)
        {
            return false;
        }

        List<byte> read = [];
        foreach (string part in text[(colon + 1)..].Split('.', StringSplitOptions.RemoveEmptyEntries))
        {
            int times = part.IndexOf('x', StringComparison.Ordinal);
            int count = 1;
            if (!byte.TryParse(part.AsSpan(times + 1), NumberStyles.None, CultureInfo.InvariantCulture, out byte choice) ||
                (times >= 0 && !int.TryParse(part.AsSpan(0, times), NumberStyles.None, CultureInfo.InvariantCulture, out count)) || count > 1_000_000)
            {
                throw new FormatException($"WEIR_SCHEDULE has the choice '{part}'. A choice is a number from 0 to 255, or a count, an x and that number.");
            }

            read.AddRange(Enumerable.Repeat(choice, count));
        }

        choices = [.. read];
        return true;
    }

    public static byte[] Choices(List<Decision> decisions) => [.. decisions.Select(static d => d.Chosen)];
}
