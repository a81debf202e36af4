using System.Reflection;

namespace Weir.Explore.Rewriting;

/// <summary>Copies what a lambda has captured to the rewritten program: values of the base library, and closures inside closures.</summary>
internal sealed class ClosureCopy(Func<Type, Type> rewritten)
{
    private const BindingFlags Fields = BindingFlags.Instance | BindingFlags.Public | BindingFlags.NonPublic;

    public object Of(object closure)
    {
        Type type = closure.GetType();
        if (!type.IsDefined(typeof(CompilerGeneratedAttribute)))
        {
            throw new NotSupportedException($"The body uses an instance of {type}. Let it capture values alone, and make what it needs inside.");
        }

        Type target = rewritten(type);
        object copy = RuntimeHelpers.GetUninitializedObject(target);
        foreach (FieldInfo field in type.GetFields(Fields))
        {
            if (field.GetValue(closure) is { } value)
            {
                target.GetField(field.Name, Fields)!.SetValue(copy, Value(field, value));
            }
        }

        return copy;
    }

    private object? Value(FieldInfo field, object value)
    {
        Type type = value.GetType();
        if (type.IsDefined(typeof(CompilerGeneratedAttribute)))
        {
            return Of(value);
        }

        if (type.IsEnum && type.Assembly != typeof(object).Assembly)
        {
            return Enum.ToObject(rewritten(type), value);
        }

        // Known only here: an assembly that is loaded once for both.
        return type.Assembly == typeof(object).Assembly && !typeof(Delegate).IsAssignableFrom(type) && !type.IsGenericType
            ? value
            : throw new NotSupportedException(
                $"The body captures '{field.Name}', a {type}. Let it capture values of the base library alone, and make others inside.");
    }
}
