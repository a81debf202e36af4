using System.Diagnostics;

namespace Weir;

/// <summary>Checks what a caller calls a run. None of it may be without text.</summary>
internal static class RunNames
{
    [StackTraceHidden]
    public static void Validate(string? name, string nameOption, IReadOnlyList<KeyValuePair<string, object?>>? tags, string tagsOption)
    {
        if (name is { Length: 0 })
        {
            throw new ArgumentException($"{nameOption} must be null or a text that is not empty.", nameOption);
        }

        for (int i = 0; i < (tags?.Count ?? 0); i++)
        {
            if (string.IsNullOrEmpty(tags![i].Key))
            {
                throw new ArgumentException($"{tagsOption} must have no empty key, but the one at position {i} is empty.", tagsOption);
            }
        }
    }
}
